# SPDX-License-Identifier: MIT
# Packages and releases. Part of ../Makefile. All of it has the same bytes for the same tree.

VERSION := $(shell sed -n 's/^Version: //p' lib/perfmodes.pc.in)
SUITEDIR := $(PREFIX)/lib/perfmodes
RELEASE := build/release

# The suite with its reports, as a package has it; make install has the library.
install-suite: bundle	## install probes, runner and reports under DESTDIR, PREFIX
	$(Q)install -d "$(DESTDIR)$(SUITEDIR)/lib" "$(DESTDIR)$(SUITEDIR)/suites"
	$(Q)cp -R --no-preserve=ownership $(B)/bundle/* "$(DESTDIR)$(SUITEDIR)/"
	$(Q)tar -cf - --exclude=__pycache__ --exclude=reports/test reports suites/expect lib/*.def lib/profiles/*.json lib/doctor/wishes.toml | \
		tar -xof - -C "$(DESTDIR)$(SUITEDIR)"
	$(Q)rm "$(DESTDIR)$(SUITEDIR)/MANIFEST"
	$(Q)install -d "$(DESTDIR)$(PREFIX)/bin" && sed 's|@SUITEDIR@|$(SUITEDIR)|' .packaging/perfmodes \
		>"$(DESTDIR)$(PREFIX)/bin/perfmodes" && chmod 755 "$(DESTDIR)$(PREFIX)/bin/perfmodes"
	$(Q)$(call put,644,$(MANDIR)/man1,.packaging/perfmodes.1)
# Results that somebody keeps beside them stay.
uninstall-suite:
	$(Q)cd "$(DESTDIR)/" && rm -rf $(patsubst /%,%,$(foreach part,bin lib reports suites run.sh,$(SUITEDIR)/$(part)) \
		$(PREFIX)/bin/perfmodes $(MANDIR)/man1/perfmodes.1)

# The tree as it is now: what git knows of, or without git all but what was built and measured.
source_files = { git ls-files -z 2>/dev/null || find . -type f ! -path './build/*' ! -path './results/*' \
	! -path './.git/*' ! -name '*.pyc' -printf '%P\0'; } | LC_ALL=C sort -z
$(RELEASE)/source:
	$(Q)rm -rf $@ && mkdir -p $@/perfmodes-$(VERSION)
	$(Q)$(source_files) | xargs -0 cp -P --parents -t $@/perfmodes-$(VERSION)
squeeze = xz -9 -T1 --check=crc32 -c

tarball: $(RELEASE)/source	## the source as build/release/perfmodes-VERSION.tar.xz
	$(Q).packaging/tar $(RELEASE)/source.tar $(RELEASE)/source perfmodes-$(VERSION)
	$(Q)$(squeeze) $(RELEASE)/source.tar >$(RELEASE)/perfmodes-$(VERSION).tar.xz && rm $(RELEASE)/source.tar

# A source package needs dpkg-dev, debhelper and what .packaging/debian/control names.
DEB_FLAGS ?= -us -uc
deb: tarball	## Debian packages in build/deb; DEB_FLAGS='-us -uc -S': the source package
	$(call say,DEB,build/deb)
	$(Q)rm -rf build/deb && mkdir -p build/deb
	$(Q)cp $(RELEASE)/perfmodes-$(VERSION).tar.xz build/deb/perfmodes_$(VERSION).orig.tar.xz
	$(Q)tar -xf build/deb/perfmodes_$(VERSION).orig.tar.xz -C build/deb
	$(Q)cp -R .packaging/debian build/deb/perfmodes-$(VERSION)/debian
	$(Q)cd build/deb/perfmodes-$(VERSION) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS dpkg-buildpackage $(DEB_FLAGS)

# The symbols that the shared library has, the numbers and types of its headers, against those of a release.
abi: $(B)/libperfmodes.so.0	## compare the library's symbols, numbers and types with those written down
	$(Q).packaging/abi $< .packaging/debian/libperfmodes0.symbols
	$(Q)$(PYTHON) .packaging/numbers lib lib/perfmodes.numbers
	$(Q)$(PYTHON) .packaging/types lib lib/perfmodes.types

# Every machine of the matrix whose cross compiler is installed; the others are named with their packages.
RELEASE_ARCHES ?= $$($(PYTHON) -m kernels bundles --here)
release: tarball	## source, bundles, SBOM and checksums in build/release; RELEASE_ARCHES=x86_64
	$(Q)rm -f $(RELEASE)/perfmodes-$(VERSION)-*.tar.xz $(RELEASE)/perfmodes-$(VERSION).cdx.json $(RELEASE)/SHA256SUMS
	$(Q)arches="$(RELEASE_ARCHES)" && [ -n "$$arches" ] || { echo "make: no machine to make a bundle for" >&2; exit 1; }; \
		for arch in $$arches; do $(MAKE) ARCH=$$arch bundle || exit 1; \
		$(squeeze) build/$$arch/bundle.tar >$(RELEASE)/perfmodes-$(VERSION)-$$arch.tar.xz || exit 1; done
	$(Q)$(MAKE) --no-print-directory release-sums

# Of all that is in $(RELEASE), whatever was built for.
release-sums:
	$(Q)cd $(RELEASE) && SOURCE_DATE_EPOCH=$$("$(CURDIR)/.packaging/tar" --time) $(PYTHON) "$(CURDIR)/.packaging/sbom.py" $(VERSION) \
		"$(CURDIR)/build/kselftest" perfmodes-$(VERSION)*.tar.xz >perfmodes-$(VERSION).cdx.json
	$(Q)cd $(RELEASE) && sha256sum perfmodes-$(VERSION)*.tar.xz perfmodes-$(VERSION).cdx.json >SHA256SUMS
	$(Q)cat $(RELEASE)/SHA256SUMS

.PHONY: install-suite uninstall-suite tarball deb abi release release-sums $(RELEASE)/source
