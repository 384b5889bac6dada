// A page without questions: what a tab kept of unsent answers is not needed any more.
"use strict";

try { sessionStorage.removeItem("dialens-draft"); } catch { /* storage is forbidden */ }

const device = document.querySelector("input[name=device]");
if (device) device.value = deviceClass();
