"""The durable store: one writer, many readers, and what they promise (`interface`)."""
