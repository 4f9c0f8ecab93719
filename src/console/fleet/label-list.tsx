// Labels of a device, as `key = value`.

import { None } from '../part/name.tsx';

/** List of labels; a dash if there are none. */
export function LabelList({ labels }: { labels: Readonly<Record<string, string>> }) {
  const entries = Object.entries(labels);
  if (entries.length === 0) return <None />;
  return (
    <ul class="labels row tight" aria-label="Labels">
      {entries.map(([key, value]) => (
        <li key={key}>
          <bdi class="muted">{key}</bdi>
          <span class="muted">&nbsp;=&nbsp;</span>
          <bdi>{value}</bdi>
        </li>
      ))}
    </ul>
  );
}
