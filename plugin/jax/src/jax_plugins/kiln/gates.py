"""What JAX allows to platforms that it lists: donation, the persistent compilation cache, a place among the names."""

from .hooks import PLATFORM, early_hook, hook, wrap


@hook
def allow_donation() -> None:
    from jax._src.interpreters import mlir

    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)


@early_hook
def be_no_experiment() -> None:
    # The list of plugins that pass JAX's tests, whose first use gives no warning in the log.
    from jax._src import xla_bridge

    xla_bridge._nonexperimental_plugins.add(PLATFORM)


@hook
def allow_name_as_default_device() -> None:
    # jax.default_device("kiln"), as "cpu" and "gpu" may be said.
    from jax._src import config

    state = config.default_device
    parse = state._parser
    state._parser = lambda value: value if value == PLATFORM else parse(value)


class _CachedBackend:
    """A backend under a name for which JAX keeps its persistent cache."""

    platform = "cpu"
    supports_executable_serialization = True

    def __init__(self, backend):
        self._backend = backend

    def __getattr__(self, name):
        return getattr(self._backend, name)


@hook
def allow_persistent_cache() -> None:
    import jax
    from jax._src import compilation_cache, config

    find_cache = compilation_cache._get_cache
    share_binary_between_hosts = config.share_binary_between_hosts

    @wrap(compilation_cache, "is_cache_used")
    def is_cache_used(original, backend):
        if backend.platform != PLATFORM:
            return original(backend)
        # A key costs a fifth of what a small program takes to compile, so none is made where nothing would ask for it.
        if find_cache(backend) is None and not share_binary_between_hosts.value:
            return False
        return original(_CachedBackend(backend))

    @wrap(compilation_cache, "put_executable_and_time")
    def put_executable_and_time(original, *args, **kwargs):
        # JAX knows of its own callback objects only, and warns of whatever cannot be serialized.
        try:
            return original(*args, **kwargs)
        except jax.errors.JaxRuntimeError as error:
            if "calls back into this process" not in str(error):
                raise


@hook
def count_costs_of_lowered_programs() -> None:
    """Lowered.cost_analysis counts over the program as it was written, which needs jaxlib alone, and any client of its own."""
    import functools

    from jax._src import xla_bridge
    from jax._src.interpreters import pxla
    from jax._src.lib import _jax, xla_client

    @functools.cache
    def host_client():
        try:
            return xla_bridge.local_devices(backend="cpu")[0].client
        except RuntimeError:
            return xla_client.make_cpu_client()

    @wrap(pxla.MeshComputation, "cost_analysis")
    def cost_analysis(original, self):
        if self.compile_args["backend"].platform != PLATFORM:
            return original(self)
        return _jax.hlo_module_cost_analysis(host_client(), self.hlo().as_hlo_module())
