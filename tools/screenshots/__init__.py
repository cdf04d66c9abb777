"""The pictures of README.md and docs/ui.md, taken by `make screenshots` in headless Chromium around a shop that it sets up itself."""
