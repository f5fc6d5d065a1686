"""What a rollout is paid: one file per reward."""
