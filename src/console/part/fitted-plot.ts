// Chart in the full width of its place, also when that changes.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

const WIDTH_MIN_PX = 200;

/** Draws into the element, until the returned function is called. */
export function fittedPlot(
  place: HTMLElement,
  options: Omit<uPlot.Options, 'width'>,
  data: uPlot.AlignedData,
): () => void {
  const width = () => Math.max(WIDTH_MIN_PX, place.clientWidth);
  const plot = new uPlot({ ...options, width: width() }, data, place);
  const observer = new ResizeObserver(() => {
    plot.setSize({ width: width(), height: options.height });
  });
  observer.observe(place);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}
