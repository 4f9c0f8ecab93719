// Search in the organization: its button, its shortcut, and its dialog.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Found } from '../../contract/console.ts';
import { LIMIT } from '../../contract/limit.ts';
import { call } from '../api/call.ts';
import { Dialog } from '../form/dialog.tsx';
import { Field } from '../form/field.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { useAsked } from '../hook/use-action.ts';
import { StatusBadge } from '../part/badge.tsx';
import { Name } from '../part/name.tsx';
import { useOrganization } from '../session/use-session.ts';
import { useKey } from './keys.tsx';

/** Button that opens the search; the key `/` does the same unless the reader is typing. */
export function Search() {
  const [isOpen, setOpen] = useState(false);
  useKey('/', () => setOpen(true));
  return (
    <>
      <button
        type="button"
        class="button plain small"
        aria-label="Search"
        aria-keyshortcuts="/"
        onClick={() => setOpen(true)}
      >
        Search <kbd>/</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function SearchDialog({ onClose }: { onClose: () => void }) {
  const { id: org } = useOrganization();
  const { route } = useLocation();
  const [text, setText] = useState('');
  const wanted = text.trim();
  const question = wanted === '' ? undefined : JSON.stringify({ org, text: wanted });
  const { said, error } = useAsked(question, search);
  const hits = said === undefined ? [] : hitsOf(said);
  const openFirst = () => {
    const [first] = hits;
    if (first === undefined) return;
    onClose();
    route(first.href);
  };
  return (
    <Dialog title="Search" isDisposable onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          openFirst();
        }}
      >
        <Field
          label="App, version or device id"
          value={text}
          onInput={setText}
          maxLength={LIMIT.searchLengthMax}
          hint="Versions and device ids are found by how they begin. Enter opens the first."
          isFocused
        />
      </form>
      <div role="status" class="unseen">
        {said !== undefined && `${hits.length} found`}
      </div>
      <ul class="found" aria-label="Found">
        {hits.map(({ href, kind, name, detail }) => (
          <li key={href}>
            <a class="menu-item" href={href} onClick={onClose}>
              <span class="muted">{kind}</span> <Name text={name} isCode={kind !== 'App'} />{' '}
              {detail}
            </a>
          </li>
        ))}
        {said !== undefined && hits.length === 0 && <li class="muted">Nothing was found.</li>}
        {error !== undefined && <li class="bad-text">{error}</li>}
      </ul>
    </Dialog>
  );
}

function search(question: object): Promise<Found> {
  return call('GET', `search${queryText({ ...question })}`);
}

function hitsOf({ apps, releases, devices }: Found) {
  return [
    ...apps.map(({ ref, name }) => ({
      ...{ href: consolePath.app(ref), kind: 'App', name },
      detail: <Name text={ref} isCode />,
    })),
    ...releases.map(({ app, channel, version, status }) => ({
      ...{ href: consolePath.release(app, channel, version), kind: 'Release', name: version },
      detail: (
        <>
          <span class="muted">
            {app} · {channel}
          </span>{' '}
          <StatusBadge status={status} />
        </>
      ),
    })),
    ...devices.map(({ app, deviceId }) => ({
      ...{ href: consolePath.device(app, deviceId), kind: 'Device', name: deviceId },
      detail: <span class="muted">{app}</span>,
    })),
  ];
}
