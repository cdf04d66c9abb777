"""Capture by a topic of records that others write."""

from incremental_assets.core.captures.topic.capture import TopicCapture

TOPIC = TopicCapture()
