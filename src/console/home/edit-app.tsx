// Dialog in which owners change an app: what it is called, how devices that speak DDI authenticate, and
// whether it is archived.

import { useState } from 'preact/hooks';
import { DDI_AUTHS } from '../../contract/choice.ts';
import type { AppOverview } from '../../contract/console.ts';
import type { DdiAuth } from '../../contract/resource.ts';
import { DDI_AUTH_WORDS } from '../../words/ddi-auth.ts';
import { call } from '../api/call.ts';
import { Dialog } from '../form/dialog.tsx';
import { Choice, Field } from '../form/field.tsx';
import { Form, useFields } from '../form/form.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { useMay } from '../session/use-session.ts';

type EditAppProps = { app: AppOverview; onChange: () => Promise<void> };

/** Button that opens the dialog for editing the app; shown to owners only. */
export function EditApp(props: EditAppProps) {
  const mayChange = useMay('owner');
  const [isOpen, setOpen] = useState(false);
  if (!mayChange) return null;
  return (
    <>
      <SmallButton onClick={() => setOpen(true)}>Edit app…</SmallButton>
      {isOpen && <EditDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

type AppChange = { name: string } | { archived: boolean } | { ddiAuth: DdiAuth };

function EditDialog({ app, onChange, onClose }: EditAppProps & { onClose: () => void }) {
  const { values, field } = useFields({ name: app.name });
  const name = values.name.trim();
  const isArchived = app.archivedAt !== null;
  const save = async (change: AppChange) => {
    await call('PATCH', 'apps', { app: app.id, ...change });
    await onChange();
    onClose();
  };
  return (
    <Dialog title={`Edit ${app.name}`} onClose={onClose}>
      <Form
        label="Rename the app"
        send="Rename"
        onSend={() => save({ name })}
        obstacle={name === app.name ? 'It has this name' : undefined}
      >
        <Field
          label="Name"
          hint={`What people call it. Devices go on asking for ${app.ref}.`}
          isRequired
          isFocused
          {...field('name')}
        />
      </Form>
      <AuthForm present={app.ddiAuth} onSend={(ddiAuth) => save({ ddiAuth })} />
      <p>
        <a href={`${consolePath.settings('devices')}${queryText({ app: app.ref })}`}>
          Device credentials
        </a>{' '}
        <span class="hint">are for devices that speak DDI.</span>
      </p>
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
            devices are answered as before, and its releases can be controlled. It can be brought
            back.
          </p>
        )}
      </Form>
    </Dialog>
  );
}

/** Choice of nothing, which only an app without `ddiAuth` has. */
const UNSET = { value: '', label: 'Not chosen' } as const;

const AUTHS = [
  { value: 'open', label: 'Not at all (open)' },
  { value: 'token', label: 'By a token (token)' },
] as const satisfies readonly { value: DdiAuth; label: string }[];

/** Form for how devices that speak DDI authenticate, with what follows from the choice. */
function AuthForm(props: { present: DdiAuth | null; onSend: (ddiAuth: DdiAuth) => Promise<void> }) {
  const { present, onSend } = props;
  const [chosen, choose] = useState<DdiAuth | ''>(present ?? '');
  const obstacle = chosen === '' ? 'Choose one' : 'It is chosen';
  return (
    <Form
      label="Choose how devices that speak DDI authenticate"
      send="Save"
      tone="plain"
      onSend={async () => chosen !== '' && onSend(chosen)}
      obstacle={chosen === '' || chosen === present ? obstacle : undefined}
    >
      <Choice
        label="Devices that speak DDI authenticate"
        value={chosen}
        options={present === null ? [UNSET, ...AUTHS] : AUTHS}
        onChoose={choose}
        hint={DDI_AUTHS.map((auth) => (
          <span key={auth}>
            <strong>{auth}</strong>: {DDI_AUTH_WORDS[auth]}{' '}
          </span>
        ))}
      />
    </Form>
  );
}
