// SPDX-License-Identifier: MIT
export default { extends: "stylelint-config-standard", rules: { "no-descending-specificity": null } };
