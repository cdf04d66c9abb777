"""The ports are interfaces alone, and small: whoever asks for one gets no more than it needs."""

import inspect

from incremental_assets.core import ports

OWN = {name: getattr(ports, name) for name in ports.__all__}
LAKE = (
    ports.LakeReader,
    ports.LakeWriter,
    ports.LakeAuditor,
    ports.LakeKeys,
    ports.LakeRows,
    ports.LakeQuarantine,
    ports.LakeHistorian,
    ports.LakeCompactor,
    ports.LakeRetention,
)


def methods(port: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(port, inspect.isfunction) if not name.startswith("_")}


def test_ports_are_interfaces_and_what_a_sync_needs_of_them_is_one_value():
    assert [name for name, found in OWN.items() if not getattr(found, "_is_protocol", False)] == ["Ports"]


def test_the_lake_is_nine_ports_that_share_no_method():
    asked = [methods(port) for port in LAKE]

    assert max(len(each) for each in asked) <= 6
    assert sum(len(each) for each in asked) == len(methods(ports.Lake))
