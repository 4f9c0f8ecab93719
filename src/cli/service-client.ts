// Client of the running service's console API.

const TIMEOUT_MS = 30_000;

export class ServiceClient {
  private readonly url: string;
  private readonly token: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.url = url;
    this.token = token;
  }

  /**
   * Sends a request to a path below `/console/api/` and returns the JSON answer; rejects with `ServiceError`.
   */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    if (this.token === undefined) {
      throw new ServiceError(
        'no admin token: set ADMIN_TOKEN, or DATA_DIR to where the service keeps it',
      );
    }
    const response = await this.send(method, path, body);
    const answer = await readJson(response);
    if (response.ok && answer !== undefined) return answer;
    if (response.ok) throw new ServiceError(`what answers at ${this.url} is not the service`);
    throw new ServiceError(errorText(answer) ?? `the service answered ${response.status}`);
  }

  private async send(method: string, path: string, body: unknown): Promise<Response> {
    try {
      return await fetch(`${this.url}/console/api/${path}`, {
        method,
        headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new ServiceError(`cannot reach the service at ${this.url}: ${reasonOf(error)}`);
    }
  }
}

/** Error of a command, in one line for the person at the terminal. */
export class ServiceError extends Error {}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}

function errorText(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return undefined;
  return String(answer.error).replace(/\s+/g, ' ');
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? error.cause.message : '';
  return (cause || error.message).replace(/\s+/g, ' ');
}
