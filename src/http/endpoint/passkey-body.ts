// Shapes of passkeys as browsers send them (WebAuthn, `toJSON` of a credential). They bound only the sizes:
// the library that verifies passkeys checks the rest. Further fields of a browser are dropped.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { textField } from './field.ts';

const encoded = textField(LIMIT.passkeyTextLengthMax);
const credential = { id: encoded, rawId: encoded, type: z.literal('public-key') };
const transportField = z.enum(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);

/** Newly created passkey. Unknown transports are dropped, not refused. */
export const newPasskeyField = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: encoded,
      attestationObject: encoded,
      transports: z.array(z.unknown()).max(16).optional(),
    }),
  })
  .transform(({ response, ...rest }) => ({
    ...rest,
    clientExtensionResults: {},
    response: {
      clientDataJSON: response.clientDataJSON,
      attestationObject: response.attestationObject,
      transports: (response.transports ?? []).flatMap(
        (each) => transportField.safeParse(each).data ?? [],
      ),
    },
  }));

/** Passkey's answer to a challenge of a sign-in. */
export const shownPasskeyField = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: encoded,
      authenticatorData: encoded,
      signature: encoded,
      userHandle: encoded.nullish(),
    }),
  })
  .transform(({ response: { userHandle, ...response }, ...rest }) => ({
    ...rest,
    clientExtensionResults: {},
    response: { ...response, ...(userHandle ? { userHandle } : {}) },
  }));
