// Place of a chart, whose code is loaded when it is needed.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Notice } from './notice.tsx';
import { useTheme } from './theme.tsx';

/** Draws into an element, and returns the function that removes the drawing. */
export type Draw = (place: HTMLElement) => () => void;

/**
 * Chart that `load` gives the code of. It is drawn again when `load` is another function, and when the theme
 * changes, because its colors differ. `label` says where the same numbers are as text.
 */
export function Plot(props: { label: string; load: () => Promise<Draw>; isLow?: boolean }) {
  const { label, load, isLow = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const [isMissing, setMissing] = useState(false);
  const { shown } = useTheme();
  useEffect(() => {
    let remove: (() => void) | undefined;
    let isOver = false;
    const draw = async () => {
      const loaded = await load().catch(() => undefined);
      if (isOver || place.current === null) return;
      setMissing(loaded === undefined);
      remove = loaded?.(place.current);
    };
    void draw();
    return () => {
      isOver = true;
      remove?.();
    };
  }, [load, shown]);
  return (
    <>
      {isMissing && <ReloadNotice />}
      <div class={isLow ? 'plot low' : 'plot'} ref={place} role="img" aria-label={label} />
    </>
  );
}

/** After an upgrade of the service, the file of the chart's code has another name. */
function ReloadNotice() {
  return (
    <Notice tone="warn">
      The chart could not be loaded; the console may have been updated.{' '}
      <button type="button" class="link" onClick={() => location.reload()}>
        Reload the page
      </button>
    </Notice>
  );
}
