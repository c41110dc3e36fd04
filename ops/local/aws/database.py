"""RDS endpoints of a template resolve to the PostgreSQL server that really runs."""

from typing import Any

from ops.local.aws.internals import provisioners


def install(host: str, port: int) -> None:
    """Points every RDS instance and cluster, also those of later stacks, at one host and port."""
    of_instance = provisioners._rds_db_instance_attrs
    of_cluster = provisioners._rds_db_cluster_attrs

    def instance_attributes(instance: dict[str, Any]) -> Any:
        instance["Endpoint"].update(Address=host, Port=port)
        return of_instance(instance)

    def cluster_attributes(cluster: dict[str, Any]) -> Any:
        cluster.update(Endpoint=host, ReaderEndpoint=host, Port=port)
        return of_cluster(cluster)

    provisioners._rds_db_instance_attrs = instance_attributes
    provisioners._rds_db_cluster_attrs = cluster_attributes
