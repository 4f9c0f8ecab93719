// Look of a chart's axes. A canvas needs resolved colors instead of the page's CSS variables.

import type uPlot from 'uplot';

/** Returns the look of an axis in the colors that the place has now. */
export function axisLook(place: HTMLElement): uPlot.Axis {
  const text = resolvedColor(place, '--muted');
  const line = resolvedColor(place, '--line');
  return {
    stroke: text,
    font: '11px system-ui, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  };
}

/** Returns the color of a CSS variable, such as `--muted`, at a place of the page. */
export function resolvedColor(place: HTMLElement, property: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
