"""How a model's text and a tool take turns: one file per protocol, no framework in sight."""
