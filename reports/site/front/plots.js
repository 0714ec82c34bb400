// SPDX-License-Identifier: MIT
// How many points work, over releases, a line for each architecture.
import UPlot from "uplot";
import { older, persona } from "./frame.js";

// No two of them are told apart by red and green alone; dashes tell the second round from the first.
const COLOURS = ["#2a7597", "#bf3f0a", "#6b3a8c", "#8a6a00", "#c05a9a", "#5b6670"];
const LEAST = 1000;     // points that a column must have, to be of the whole suite

function plots(data) {
  const box = document.getElementById("share");
  const who = persona(data);
  const whole = data.spots.filter((spot) => spot.personas[who]?.[0] >= LEAST).map((spot) => ({ spot, yes: spot.personas[who][1] }));
  const releases = [...new Map(whole.map(({ spot }) => [spot.numbers.slice(0, 2).join("."), spot.numbers])).entries()]
    .sort(([, a], [, b]) => (older(a, b) ? -1 : 1)).map(([name]) => name);
  if (releases.length < 2) return;
  const arches = [...new Set(whole.map(({ spot }) => spot.arch))];
  const line = (arch) => releases.map((name) => {
    const found = whole.filter(({ spot }) => spot.arch === arch && spot.numbers.slice(0, 2).join(".") === name);
    return found.length ? Math.max(...found.map((each) => each.yes)) : null;
  });
  const ink = getComputedStyle(document.body).color;
  box.hidden = false;
  const plot = new UPlot({
    width: Math.min(box.clientWidth || 340, 900),
    height: 320,
    scales: { x: { time: false } },
    axes: [
      { stroke: ink, grid: { show: false }, splits: () => releases.map((_name, at) => at), values: (_plot, splits) => splits.map((at) => releases[at] ?? "") },
      { stroke: ink, label: `points that work, as ${who}` },
    ],
    series: [{ label: "release", value: (_plot, at) => releases[at] ?? "" },
      ...arches.map((arch, at) => ({ label: arch, stroke: COLOURS[at % COLOURS.length], width: 2, dash: at < COLOURS.length ? [] : [6, 4], spanGaps: true, points: { show: true, size: 8 } }))],
  }, [releases.map((_name, at) => at), ...arches.map(line)], box);
  addEventListener("resize", () => plot.setSize({ width: Math.min(box.clientWidth, 900), height: 320 }));
}

window.PERFMODES_PLOTS = plots;
