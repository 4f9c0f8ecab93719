// Types of the used part of Swagger UI; the package has none.

declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  /** Shows a document in an element. Options: https://swagger.io/docs/open-source-tools/swagger-ui. */
  function SwaggerUI(options: {
    readonly url: string;
    readonly dom_id: string;
    readonly supportedSubmitMethods: readonly string[];
    readonly validatorUrl: string | null;
    readonly deepLinking: boolean;
    readonly defaultModelsExpandDepth: number;
    readonly docExpansion: 'list' | 'full' | 'none';
    readonly displayOperationId: boolean;
  }): unknown;

  // biome-ignore lint/style/noDefaultExport: the package exports it so.
  export { SwaggerUI as default };
}
