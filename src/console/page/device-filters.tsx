// The filters of the device list. They are the address: to share, to come back to.

import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AppSummary, FleetLabels } from '../api/resource.ts';
import { queryText } from '../format/query-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Choice } from '../part/choice.tsx';
import { Field } from '../part/field.tsx';

const SEEN = [
  { value: '', label: 'Any time' },
  { value: 'hour', label: 'Last hour' },
  { value: 'day', label: 'Last day' },
  { value: 'week', label: 'Last week' },
] as const;

const SEEN_MS: Readonly<Record<string, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

/** Applied with Enter or with the button; a choice is applied at once. */
export function DeviceFilters({ app, query }: { app: AppSummary; query: Record<string, string> }) {
  const { route } = useLocation();
  const [draft, setDraft] = useState(query);
  useEffect(() => setDraft(query), [query]);
  const labels = useLoad<FleetLabels>(`labels${queryText({ app: app.ref })}`);
  const apply = (changed: Record<string, string>) =>
    route(`${location.pathname}${queryText({ ...query, ...changed, after: undefined })}`, true);
  const field = (name: string) => ({
    value: draft[name] ?? '',
    onInput: (value: string) => setDraft((before) => ({ ...before, [name]: value })),
  });
  return (
    <form
      class="filters"
      aria-label="Filter devices"
      onSubmit={(event) => {
        event.preventDefault();
        apply(draft);
      }}
    >
      <Field label="Version" isCode {...field('version')} />
      <Choice
        label="Channel"
        value={query.channel ?? ''}
        options={[
          { value: '', label: 'Any' },
          ...app.channels.map(({ name }) => ({ value: name, label: name })),
        ]}
        onChoose={(channel) => apply({ ...draft, channel })}
      />
      <Field label="Platform" {...field('platform')} />
      <Field
        label="Label"
        placeholder="ring=canary"
        options={labelOptions(labels.data)}
        {...field('label')}
      />
      <Choice
        label="Seen"
        value={query.seen ?? ''}
        options={SEEN}
        onChoose={(seen) => apply({ ...draft, seen })}
      />
      <button type="submit" class="button plain">
        Filter
      </button>
    </form>
  );
}

/** The time from which on, rounded to the minute; undefined for any time. */
export function seenSince(seen: string | undefined): string | undefined {
  const spanMs = seen !== undefined && Object.hasOwn(SEEN_MS, seen) ? SEEN_MS[seen] : undefined;
  if (spanMs === undefined) return undefined;
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - spanMs).toISOString();
}

function labelOptions(labels: FleetLabels | undefined): readonly string[] {
  return (labels?.keys ?? []).flatMap(({ key, values }) =>
    values.map(({ value }) => `${key}=${value}`),
  );
}
