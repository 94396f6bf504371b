// The page of one run: follows it while it goes, and takes the server's parts anew when its state changes.

import { actions } from "./training-actions.js";
import { followCurve } from "./training-curve.js";
import { LiveRun } from "./training-live.js";
import { refreshParts } from "./training-parts.js";
import { publishing } from "./training-publish.js";

actions(document.querySelector("[data-said]"), refreshParts);
publishing(document.querySelector("[data-said]"), refreshParts);
new LiveRun(document.querySelector("[data-live]"), refreshParts).start();
followCurve(refreshParts);
document.documentElement.dataset.ready = "";
