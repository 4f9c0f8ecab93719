// A share as a bar with its number beside it.

/** `percent` is 0 to 100; `label` says of what, for who does not see the bar. */
export function ShareBar(props: {
  percent: number;
  label: string;
  text?: string;
  tone?: 'accent' | 'quiet';
}) {
  const { percent, label, text = `${percent}%`, tone = 'accent' } = props;
  const width = `${Math.min(100, Math.max(0, percent))}%`;
  return (
    <span class="share">
      <span class={`share-track ${tone}`} role="img" aria-label={`${label}: ${text}`}>
        <span style={{ width }} />
      </span>
      <span class={props.text === undefined ? 'share-text' : 'share-text wide'} aria-hidden="true">
        {text}
      </span>
    </span>
  );
}
