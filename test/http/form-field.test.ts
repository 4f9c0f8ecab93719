// Tests that a field of a form means what `URLSearchParams` makes of it.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formField } from '../../src/http/webhook/form-field.ts';

function read(form: string): string | null {
  return formField(Buffer.from(form), 'payload')?.toString() ?? null;
}

describe('formField', () => {
  it.each([
    ...['', 'payload', 'payload=', 'payload=a', '&payload=a+b%20c', 'a=b&payload=1&payload=2'],
    ...['xpayload=1', 'payloadx=1', 'payload=100%&x', 'payload=%4&y', 'payload=%zz%41%'],
    ...['payload=%C3%a9é', 'a=payload=1', 'payload=a=b;c'],
  ])('reads as URLSearchParams does: %s', (form) => {
    // `URLSearchParams` takes a name without `=` for a field; the reader does not, and no sender writes that.
    const expected = form === 'payload' ? null : new URLSearchParams(form).get('payload');
    expect(read(form)).toBe(expected);
  });

  it('reads back whatever a form was made from', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (payload, other) => {
        const form = new URLSearchParams({ before: other, payload, after: other });
        expect(read(form.toString())).toBe(payload.toWellFormed());
      }),
    );
  });
});
