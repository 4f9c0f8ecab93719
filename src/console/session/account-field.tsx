// Fields for an account and for the first organization, shared by several pages.

import { LIMIT } from '../../contract/limit.ts';
import { Field, type FieldOfForm } from '../form/field.tsx';

export function EmailField(props: FieldOfForm) {
  return <Field label="Email" type="email" complete="username" isRequired {...props} />;
}

export function PersonField(props: FieldOfForm) {
  return <Field label="Your name" complete="name" isRequired {...props} />;
}

/** Hint with the minimum length of passwords. */
export const PASSWORD_HINT = [
  `At least ${LIMIT.passwordLengthMin} characters;`,
  'a few words that only you would put together are best.',
].join(' ');

/** Field for the password of an account, or for a new one. */
export function PasswordField(
  props: FieldOfForm & { label?: string; isNew?: boolean; hint?: string },
) {
  const { isNew = false, hint = isNew ? PASSWORD_HINT : undefined, ...field } = props;
  const complete = isNew ? 'new-password' : 'current-password';
  return <Field label="Password" type="password" {...{ complete, hint }} isRequired {...field} />;
}

/** Field for the admin token. */
export function TokenField(props: FieldOfForm) {
  return (
    <Field
      label="Admin token"
      type="password"
      hint="The setting ADMIN_TOKEN; an embedded service has it in the file DATA_DIR/admin-token."
      isRequired
      isFocused
      {...props}
    />
  );
}

/** Field for the name of the first organization. */
export function OrganizationField(props: FieldOfForm) {
  const hint = 'Whose apps these are, such as your company.';
  return <Field label="Organization" hint={hint} isRequired {...props} />;
}
