# Images of FreeRTOS for emulated boards (docs/guides/freertos.md).

FREERTOS_KERNEL_PATH ?=
FREERTOS_BOARDS := virt-a53:freertos-a64 virt-a53-rr:freertos-a64-rr \
	virt-a53-xen:freertos-a64-xen mps2-an385:freertos-m3 mps2-an385-hart:freertos-m3-hart \
	mps2-an386:freertos-m4f mps2-an500:freertos-m7 mps2-an505:freertos-m33 \
	vexpress-a9:freertos-a9 virt-rv32:freertos-rv32 virt-rv64:freertos-rv64
FREERTOS_IMAGES := $(foreach pair,$(FREERTOS_BOARDS),$(lastword $(subst :, ,$(pair))))
FREERTOS_KERNEL := build/freertos-kernel
FREERTOS_OPTIONS ?=

.PHONY: freertos-kernel $(addprefix image-,$(FREERTOS_IMAGES))

freertos: $(addprefix image-,$(FREERTOS_IMAGES))
	@size $(addprefix $(AGENTS)/,$(FREERTOS_IMAGES:=.elf))

$(addprefix image-,$(FREERTOS_IMAGES)): image-%: freertos-kernel
	@cmake -S agent -B build/$* $(GENERATOR) -DFREERTOS_KERNEL_PATH="$$(cat $(FREERTOS_KERNEL))" \
	    -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/agent/boards/$(patsubst %:$*,%,$(filter %:$*,\
	        $(FREERTOS_BOARDS))).cmake $(FREERTOS_OPTIONS)
	$(BUILD) build/$*
	@readelf=$$(sed -n 's/^CMAKE_READELF:FILEPATH=//p' build/$*/CMakeCache.txt); \
	$(call MARKS,$$readelf,build/$*/$*.elf,build/$*/$*.marks)
	@mkdir -p $(AGENTS); \
	for file in $*.elf $*.marks; do \
	    cmp -s build/$*/$$file $(AGENTS)/$$file \
	        || install -m 644 build/$*/$$file $(AGENTS) || exit 1; \
	done

# Where the kernel's sources are.
freertos-kernel: | check-cross
	@kernel="$(FREERTOS_KERNEL_PATH)"; \
	[ -n "$$kernel" ] || kernel=$$($(PYTHON) agent/ports/freertos/kernel/find.py) || exit 1; \
	mkdir -p build; echo "$$kernel" >$(FREERTOS_KERNEL)

freertos-memory: freertos $(VENV)/dev.stamp
	$(BIN)/python -m tests.bench.memory

check-cross:
	@packaging/packages check build boards
