// What owners change of an app: its name, and whether it takes releases.

import { useState } from 'preact/hooks';
import type { AppOverview } from '../../contract/console.ts';
import { call } from '../api/call.ts';
import { Dialog } from '../part/dialog.tsx';
import { Field } from '../part/field.tsx';
import { Form } from '../part/form.tsx';
import { useMay } from '../session/use-session.ts';

type EditAppProps = { app: AppOverview; onChange: () => Promise<void> };

/** Button for owners, and its dialog. */
export function EditApp(props: EditAppProps) {
  const mayChange = useMay('owner');
  const [isOpen, setOpen] = useState(false);
  if (!mayChange) return null;
  return (
    <>
      <button type="button" class="button plain small" onClick={() => setOpen(true)}>
        Edit app…
      </button>
      {isOpen && <EditDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function EditDialog({ app, onChange, onClose }: EditAppProps & { onClose: () => void }) {
  const [name, setName] = useState(app.name);
  const isArchived = app.archivedAt !== null;
  const save = async (change: { name: string } | { archived: boolean }) => {
    await call('PATCH', 'apps', { app: app.id, ...change });
    await onChange();
    onClose();
  };
  return (
    <Dialog title={`Edit ${app.name}`} onClose={onClose}>
      <Form
        label="Rename the app"
        send="Rename"
        onSend={() => save({ name: name.trim() })}
        obstacle={name.trim() === app.name ? 'It has this name' : undefined}
      >
        <Field
          name="name"
          label="Name"
          value={name}
          onInput={setName}
          hint={`What people call it. Devices go on asking for ${app.ref}.`}
          isRequired
          isFocused
        />
      </Form>
      <Form
        label={isArchived ? 'Bring the app back' : 'Archive the app'}
        send={isArchived ? 'Bring it back' : 'Archive it'}
        tone="plain"
        onSend={() => save({ archived: !isArchived })}
      >
        {isArchived ? (
          <p class="hint">It takes releases again, and is in the list of apps.</p>
        ) : (
          <p class="hint">
            An archived app takes no releases and no channels, and is out of the list of apps. Its
            devices are answered as before, and its releases can be steered. It can be brought back.
          </p>
        )}
      </Form>
    </Dialog>
  );
}
