// Search of devices: a text field for an id, a version or a label, selects beside it, and the present
// criteria as chips. The criteria are query parameters, so that a link includes them.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { SIGNALS } from '../../contract/choice.ts';
import type { AppOverview, LabelCounts } from '../../contract/console.ts';
import { Choice, Field, optionsOf } from '../form/field.tsx';
import { queryText } from '../format/console-path.ts';
import { channelNames } from '../format/serving.ts';
import { useLoad } from '../hook/use-load.ts';
import { CHIPS, NAMES, type Name, type Query, readLine, readSignal } from './device-query.ts';

export function DeviceSearch({ app, query }: { app: AppOverview; query: Query }) {
  const { route } = useLocation();
  const [line, setLine] = useState('');
  const labels = useLoad(`labels${queryText({ app: app.ref })}`);
  const apply = (changed: Readonly<Record<string, string | undefined>>) =>
    route(`${location.pathname}${queryText({ ...query, ...changed, after: undefined })}`, true);
  return (
    <search>
      <form
        class="search"
        aria-label="Search devices"
        onSubmit={(event) => {
          event.preventDefault();
          if (line.trim() === '') return;
          apply(readLine(line));
          setLine('');
        }}
      >
        <Field
          label="Find devices"
          type="search"
          value={line}
          onInput={setLine}
          placeholder="Part of an id, 1.2.0, <1.2.0 or ring=canary"
          options={labelOptions(labels.data)}
        />
        <button type="submit" class="button plain">
          Find
        </button>
        <Choices app={app} query={query} onChoose={apply} />
      </form>
      <Chips query={query} onRemove={(name) => apply({ [name]: undefined })} />
    </search>
  );
}

const SEEN = optionsOf({ '': 'Any time', hour: 'Last hour', day: 'Last day', week: 'Last week' });

function Choices(props: {
  app: AppOverview;
  query: Query;
  onChoose: (changed: Readonly<Record<string, string>>) => void;
}) {
  const { app, query, onChoose } = props;
  return (
    <>
      <Choice
        label="Channel"
        value={query.channel ?? ''}
        options={[{ value: '', label: 'Any' }, ...channelNames(app)]}
        onChoose={(channel) => onChoose({ channel })}
      />
      <Choice
        label="Seen"
        value={query.seen ?? ''}
        options={SEEN}
        onChoose={(seen) => onChoose({ seen })}
      />
      <Choice
        label="Signal"
        value={readSignal(query.signal) ?? ''}
        options={[{ value: '', label: 'Any' }, ...SIGNALS]}
        onChoose={(signal) => onChoose({ signal })}
      />
    </>
  );
}

function Chips({ query, onRemove }: { query: Query; onRemove: (name: Name) => void }) {
  const asked = NAMES.filter((name) => (query[name] ?? '') !== '');
  if (asked.length === 0) return null;
  return (
    <ul class="chips padded row tight" aria-label="What is asked for">
      {asked.map((name) => (
        <li key={name} class="chip line tight small">
          <span class="muted">{CHIPS[name]}</span>
          <bdi dir="auto">{query[name]}</bdi>
          <button
            type="button"
            aria-label={`Remove ${CHIPS[name]} ${query[name]}`}
            onClick={() => onRemove(name)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function labelOptions(labels: LabelCounts | undefined): readonly string[] {
  return (labels?.keys ?? []).flatMap(({ key, values }) =>
    values.map(({ value }) => `${key}=${value}`),
  );
}
