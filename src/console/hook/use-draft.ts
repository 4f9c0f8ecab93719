// What a person has entered into filters and not applied yet.

import { useEffect, useState } from 'preact/hooks';

/** Draft of a query, which begins as the applied one, and the properties of a field that edits it. */
export function useDraft(query: Record<string, string>) {
  const [draft, setDraft] = useState(query);
  useEffect(() => setDraft(query), [query]);
  const field = (name: string) => ({
    value: draft[name] ?? '',
    onInput: (value: string) => setDraft((before) => ({ ...before, [name]: value })),
  });
  return { draft, field };
}
