"""`python -m paretopo.integrations.openrlhf`: see `script`."""

from paretopo.integrations.openrlhf.script import main

main()
