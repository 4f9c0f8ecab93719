// The hash of passwords: slow and salted. Each call costs memory and time by design, so callers limit the
// number of concurrent calls.

export interface PasswordHasher {
  /** Hashes a password; the result contains its parameters and salt. */
  hash(password: string): Promise<string>;

  /** Returns whether the hash belongs to this password; takes equally long for a wrong password. */
  verify(hash: string, password: string): Promise<boolean>;
}
