"""verl on a machine without CUDA, at a small size: `paretopo train --rehearse`."""
