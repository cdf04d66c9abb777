"""Topics of Kafka: records of Debezium, or events of anybody, as rows that land."""
