"""OpenRLHF: both stages on many GPUs, with Ray, vLLM and DeepSpeed; or rehearsed on a CPU.

`train` in `paretopo.integrations.openrlhf.train` is what `paretopo train` calls for
`backend = "openrlhf"`. Importing this package imports neither OpenRLHF nor torch.

`ToolAgentExecutor` and `ToolAgent` in `agent` are for environments of your own.
"""
