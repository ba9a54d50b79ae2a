# What the host loads: the simulator's engine, the plugin of the emulator, the charts of pages.

engine: $(ENGINE) $(PLUGINS)

ENGINE_SOURCE := $(addprefix rtstone/simulate/,engine.c hartstone.c schedule.c)
ENGINE_HEADER := $(ENGINE_SOURCE:.c=.h)
ENGINE_FLAGS := -std=c11 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wundef -Wvla -Wpointer-arith -Wwrite-strings

$(ENGINE): $(ENGINE_SOURCE) $(ENGINE_HEADER) rtstone/build.mk | check-tools
	@mkdir -p $(dir $@)
	gcc $(ENGINE_FLAGS) -O2 -g -fPIC -fvisibility=hidden -shared $(ENGINE_SOURCE) -o $@

# For QEMU up to 8, and since 9.1; it finds its own functions in the emulator that loads it.
PLUGIN_SOURCE := $(addprefix rtstone/explain/,plugin.c sections.c delays.c tally.c \
	masks_x86.c masks_riscv.c masks_supervisor.c)
PLUGIN_HEADER := $(addprefix rtstone/explain/,plugin.h sections.h delays.h tally.h masks.h)

$(PLUGINS): rtstone/_engine/qemu-plugin-%.so: $(PLUGIN_SOURCE) $(PLUGIN_HEADER) rtstone/build.mk | check-tools
	@mkdir -p $(dir $@)
	gcc $(ENGINE_FLAGS) -O2 -g -fPIC -fvisibility=hidden -shared -DRTS_PLUGIN_API=$* $(PLUGIN_SOURCE) -o $@

build/sanitized/engine.so: $(ENGINE_SOURCE) $(ENGINE_HEADER) rtstone/build.mk | check-tools
	@mkdir -p $(dir $@)
	gcc $(ENGINE_FLAGS) -O1 -g -fPIC -shared -fsanitize=address,undefined \
	    -fno-sanitize-recover=all $(ENGINE_SOURCE) -o $@

lint-engine: $(VENV)/dev.stamp
	$(BIN)/clang-tidy --quiet $(ENGINE_SOURCE) -- $(ENGINE_FLAGS)
	$(BIN)/clang-tidy --quiet $(PLUGIN_SOURCE) -- $(ENGINE_FLAGS) -DRTS_PLUGIN_API=1

charts: $(CHARTS)

$(CHARTS): package-lock.json $(wildcard rtstone/report/charts/*) | check-charts
	npm ci --no-audit --no-fund --loglevel=error
	npm run --silent build

check-charts:
	@packaging/packages check charts
