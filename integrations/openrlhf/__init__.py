"""OpenRLHF: both stages on many GPUs, with Ray, vLLM and DeepSpeed; or rehearsed on a CPU.

`paretopo train` calls `paretopo.integrations.openrlhf.train.train` for `backend = "openrlhf"`.
Importing this package imports neither OpenRLHF nor torch.

`ToolAgentExecutor` and `ToolAgent` in `agent` are base classes for your own environments.
"""
