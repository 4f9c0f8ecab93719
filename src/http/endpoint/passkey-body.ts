// Shapes of what a browser tells of a passkey (WebAuthn, `toJSON` of a credential). Only their sizes matter
// here: the library that verifies them reads the rest. Fields that browsers add are left out.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { textField } from './field.ts';

const encoded = textField(LIMIT.passkeyTextLengthMax);
const credential = { id: encoded, rawId: encoded, type: z.literal('public-key') };
const transportField = z.enum(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);

/** A passkey that was made. Transports that are not known are no reason to refuse it. */
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

/** A passkey that was shown. */
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
