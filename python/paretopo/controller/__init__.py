"""The two stages: reward vectors become advantages, held-out outcomes a gain and a multiplier."""
