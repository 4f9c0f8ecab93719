// What an HTTP server gives to this room: requests, responses, and the application that serves them. It is
// the part of uWebSockets.js that the room uses. A request is valid until its handler returns, a response
// until it is ended or its client has left.

export type HttpRequest = {
  /** Returns the method in lower case. */
  getMethod(): string;
  /** Returns the path as sent, without the query. */
  getUrl(): string;
  /** Returns the query as sent, without `?`; undefined when there is none. */
  getQuery(): string | undefined;
  /** Returns the decoded value of a parameter of the query. */
  getQuery(key: string): string | undefined;
  /** Returns the first header of this name, one character per byte; '' when there is none. */
  getHeader(lowerCaseName: string): string;
  /** Tells every header in the order in which they were sent: names in lower case, values read as UTF-8. */
  forEach(tell: (name: string, value: string) => void): void;
  /** Tells that the handler leaves the request to the one of all other requests. */
  setYield(isYielded: boolean): unknown;
};

export type HttpResponse = {
  /** Begins the head: the status and its reason, which further header lines may follow. */
  writeStatus(text: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** Ends the response, with its length; `closesConnection` adds the header that says so. */
  end(body?: string | Uint8Array, closesConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  /** Writes what the client takes of a body of `bytes`; returns whether it took all, and whether it ends. */
  tryEnd(chunk: Uint8Array, bytes: number): [isTaken: boolean, isDone: boolean];
  /** Writes a part of a body without a known length; returns whether the client took all. */
  write(chunk: string): boolean;
  /** Makes one write to the socket of what `write` writes. */
  cork(write: () => void): unknown;
  /** Closes the connection at once. */
  close(): unknown;
  /** Sets the listener that is called when the connection closes before the response is ended. */
  onAborted(listener: () => void): unknown;
  /** Sets the listener of the body. A chunk is valid during the call. */
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  /** Sets the listener that is called when the client takes more. */
  onWritable(listener: (offset: number) => boolean): unknown;
  /** Returns the number of bytes of the body that were taken. */
  getWriteOffset(): number;
  getRemoteAddressAsText(): ArrayBuffer | string;
  /**
   * Returns the number of bytes of answers that the connection keeps because the client does not take them;
   * absent where the server bounds them itself.
   */
  getBufferedAmount?(): number;
  /**
   * True where the server itself bounds what a connection holds for a client that does not read, and reads no
   * request behind a response that closes its connection.
   */
  readonly guardsConnection?: boolean;
};

export type RequestHandler = (res: HttpResponse, req: HttpRequest) => void;

export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of this service listen on the port as well. */
  readonly isPortShared: boolean;
};

/** Socket that accepts connections. */
export type Listening = {
  /** Port that is listened on, also when port 0 was asked for. */
  readonly port: number;
  /** Stops accepting connections; open connections stay. To be called once. */
  stop(): void;
};

export type HttpApp = {
  /** Serves requests whose path fits a pattern, `/u/*`, by the first that fits. */
  get(pattern: string, handler: RequestHandler): unknown;
  head(pattern: string, handler: RequestHandler): unknown;
  any(pattern: string, handler: RequestHandler): unknown;
  /** Sets the listener that is called with 1 for a connection that opens and with -1 for one that closes. */
  filter(listener: (connection: Pick<HttpResponse, 'close'>, change: number) => void): unknown;
  /** Sets the listener that is told why a connection could not be accepted. */
  onAcceptFault(listener: (error: Error) => void): unknown;
  /** Rejects, in words, when the address is in use or cannot be used. */
  listen(options: ListenOptions): Promise<Listening>;
  /** Stops listening and closes every connection. */
  close(): unknown;
};
