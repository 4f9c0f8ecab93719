// Dialog that adds or changes a destination of notifications.

import { useState } from 'preact/hooks';
import {
  type Destination,
  EVENT_FILTERS,
  type IssuedDestination,
} from '../../contract/notification.ts';
import { call } from '../api/call.ts';
import { ChipsInput } from '../form/chips-input.tsx';
import { type DialogEnd, FormDialog, SecretDialog } from '../form/dialog.tsx';
import { Choice, Field, optionsOf } from '../form/field.tsx';
import { queryText } from '../format/console-path.ts';
import {
  type DestinationDraft,
  destinationBody,
  destinationDraft,
  destinationObstacle,
  KIND_NAMES,
} from '../format/destination.ts';
import { useLoad } from '../hook/use-load.ts';
import { useOrganization } from '../session/use-session.ts';

/** Dialog for a new destination, or for a change of `of`; shows the secret of a webhook if it is new. */
export function DestinationDialog({ of, ...end }: DialogEnd & { of?: Destination }) {
  const { id: org } = useOrganization();
  const [draft, setDraft] = useState(() => destinationDraft(of));
  const body = destinationBody(draft, of);
  const save = (): Promise<IssuedDestination> =>
    of === undefined
      ? call('POST', 'destinations', { org, ...body })
      : call('PATCH', `destinations/${of.id}`, body);
  const isUnchanged = Object.keys(body).length === 0;
  return (
    <FormDialog
      title={of === undefined ? 'Add a destination' : `Change ${of.name}`}
      verb={of === undefined ? 'Add destination' : 'Save'}
      obstacle={isUnchanged ? 'Nothing was changed' : destinationObstacle(draft)}
      onSend={save}
      then={({ name, secret }) =>
        secret && <DestinationSecret name={name} secret={secret} onClose={end.onClose} />
      }
      {...end}
    >
      <DestinationFields draft={draft} isNew={of === undefined} onChange={setDraft} />
    </FormDialog>
  );
}

/** Dialog with the new secret of a webhook. */
export function DestinationSecret(props: { name: string; secret: string; onClose: () => void }) {
  const { name, secret, onClose } = props;
  return (
    <SecretDialog title={`Secret of ${name}`} text={secret} what="secret" onClose={onClose}>
      The receiver checks the signatures of messages with it. It is shown this once.
    </SecretDialog>
  );
}

function DestinationFields(props: {
  draft: DestinationDraft;
  isNew: boolean;
  onChange: (draft: DestinationDraft) => void;
}) {
  const { draft, isNew, onChange } = props;
  const { id: org } = useOrganization();
  const apps = useLoad(`apps${queryText({ org })}`);
  const set = (part: Partial<DestinationDraft>) => onChange({ ...draft, ...part });
  return (
    <>
      {isNew && (
        <Choice
          label="Kind"
          value={draft.kind}
          options={optionsOf(KIND_NAMES)}
          onChoose={(kind) => set({ kind })}
          hint="Slack is also what Mattermost and Discord take."
        />
      )}
      <Field
        name="name"
        label="Name"
        value={draft.name}
        onInput={(name) => set({ name })}
        isRequired
        isFocused
      />
      <AddressField draft={draft} onInput={(address) => set({ address })} isNew={isNew} />
      <fieldset class="wide">
        <legend>Only these events</legend>
        <ChipsInput
          label="Add an event"
          values={draft.events}
          options={EVENT_FILTERS}
          placeholder={draft.events.length === 0 ? 'all' : undefined}
          onChange={(events) => set({ events })}
        />
        <p class="hint">Such as plan.tripped, or release.* for all that happens to releases.</p>
      </fieldset>
      <fieldset class="wide">
        <legend>Only these apps</legend>
        <ChipsInput
          label="Add an app"
          values={draft.apps}
          options={(apps.data?.apps ?? []).map(({ ref }) => ref)}
          placeholder={draft.apps.length === 0 ? 'all' : undefined}
          onChange={(refs) => set({ apps: refs })}
        />
      </fieldset>
    </>
  );
}

function AddressField(props: {
  draft: DestinationDraft;
  isNew: boolean;
  onInput: (address: string) => void;
}) {
  const { draft, isNew, onInput } = props;
  const { kind, address } = draft;
  if (kind === 'mail') {
    return (
      <Field
        name="to"
        label="Recipient"
        type="email"
        value={address}
        onInput={onInput}
        hint="A member's address, while they are one; any other is asked by a link first."
        isRequired
      />
    );
  }
  return (
    <Field
      name="url"
      label="Address"
      value={address}
      onInput={onInput}
      placeholder="https://"
      hint={!isNew && kind === 'webhook' ? 'Another address gets another secret.' : undefined}
      isRequired
      isCode
    />
  );
}
