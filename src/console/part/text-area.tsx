// Several lines of text with a label.

import { useId } from 'preact/hooks';

const ROWS = 6;

/** Grows with its text where the browser can. */
export function TextArea(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <textarea
        id={id}
        rows={ROWS}
        dir="auto"
        value={props.value}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </div>
  );
}
