"""Everything about data: specs, readers, transforms, the dataset folder, the cached encoder."""
