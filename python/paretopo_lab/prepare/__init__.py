"""Questions with known answers on disk: made by `paretopo prepare`, read by every back end."""
