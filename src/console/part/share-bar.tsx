// Share as a bar with its number.

/** Bar for a share; `percent` is 0 to 100, `label` names it for screen readers. */
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
