// Text from a person or a device, such as an app's name, a label, a device id or an actor, displayed so that
// its direction and length do not affect the text around it.

import { actorWords } from '../../words/name.ts';
import { consolePath } from '../format/console-path.ts';
import { capitalized } from '../format/figure-text.ts';

/** Isolated text; `isCode` shows it as code. */
export function Name({ text, isCode = false }: { text: string; isCode?: boolean }) {
  return (
    <bdi class={isCode ? 'name code' : 'name'} dir="auto">
      {text}
    </bdi>
  );
}

/** Isolated text in bold. */
export function StrongName(props: { text: string; isCode?: boolean }) {
  return (
    <strong>
      <Name {...props} />
    </strong>
  );
}

/** Id of a device, as a link to its page. */
export function DeviceLink({ app, deviceId }: { app: string; deviceId: string }) {
  return (
    <a href={consolePath.device(app, deviceId)}>
      <Name text={deviceId} isCode />
    </a>
  );
}

/** Actor in words: an account by its e-mail, a key by its name. `isFirst`: a sentence begins with it. */
export function Actor({ text, isFirst = false }: { text: string; isFirst?: boolean }) {
  const words = actorWords(text);
  const isNamed = text.startsWith('account:');
  const shown = isFirst && !isNamed ? capitalized(words) : words;
  return (
    <span title={isNamed ? undefined : text}>
      <Name text={shown} />
    </span>
  );
}

// Dash for a missing value; a table on a narrow screen omits its cell.

export function None() {
  return <span class="muted none">–</span>;
}

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
