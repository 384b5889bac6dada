from ._driver import SparkCluster, open_cluster
from ._graphics_cards import workers_device
from ._source import ClusterCorpus, cluster_corpus, local_path, spark_address
from ._staging import remove_staging

__all__ = [
    "ClusterCorpus",
    "SparkCluster",
    "cluster_corpus",
    "local_path",
    "open_cluster",
    "remove_staging",
    "spark_address",
    "workers_device",
]
