import { fastify, type FastifyInstance, type FastifySchemaValidationError } from 'fastify';
import { METHODS } from 'node:http';
import { Problem } from '../domain/problem.js';
import { onClientError, onError } from './problems.js';

const largestBody = 16 * 1024;

/** The time within which a request must arrive, in milliseconds. */
const requestTimeout = 10_000;

/**
 * A server with the routes of a unit. Checks follow in this order: path, method, size; then what routes add
 * (see requests.ts): session, body and parameters.
 */
export async function newServer(addRoutes: (app: FastifyInstance) => void): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: largestBody,
    requestTimeout,
    http: { headersTimeout: requestTimeout, connectionsCheckingInterval: 1000 },
    clientErrorHandler: onClientError,
    frameworkErrors: onError,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: largestBody },
    // Requests are validated as they were sent, without conversions.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    schemaErrorFormatter: (errors, where) => new Problem('bad-request', explain(errors, where)),
  });
  app.setErrorHandler(onError);
  app.addHook('onRequest', (request, _reply, done) => {
    request.raw.headers['content-type'] = undefined; // every body is read as JSON, whatever it is called
    // The router takes /customers/ for the customer without a name.
    const nothing = request.is404 || Object.values(request.params as object).includes('');
    done(nothing ? new Problem('unknown-path', `there is nothing at ${request.url}`) : undefined);
  });
  // Bodies are read here, of all methods, so that their size is known, and parsed by parseBody.
  METHODS.filter((method) => method !== 'CONNECT').forEach((method) => {
    app.addHttpMethod(method, { hasBody: true, overrideExisting: true });
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });

  const paths = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => {
    paths.set(url, (paths.get(url) ?? []).concat(method));
  });
  app.get('/health', (_request, reply) => reply.type('text/plain; charset=utf-8').send('ok\n'));
  addRoutes(app);
  await app.after();
  refuseOtherMethods(app, new Map(paths));
  return app;
}

/** Answers methods that a path does not have. */
function refuseOtherMethods(app: FastifyInstance, paths: ReadonlyMap<string, string[]>): void {
  for (const [url, methods] of paths) {
    const allow = methods.sort().join(', ');
    app.route({
      url,
      method: app.supportedMethods.filter((method) => !methods.includes(method)),
      onRequest: (request, reply, done) => {
        reply.header('allow', allow);
        done(
          new Problem('wrong-method', `${request.method} is not among the methods of this path: ${allow}`),
        );
      },
      handler: () => undefined, // is never reached
    });
  }
}

function explain(errors: FastifySchemaValidationError[], where: string): string {
  const [error] = errors;
  if (error === undefined) {
    return `${where} is not valid`;
  }
  const at = where + error.instancePath;
  if (error.keyword === 'additionalProperties') {
    return `${at} has an unknown field ${JSON.stringify(error.params['additionalProperty'])}`;
  }
  return `${at} ${error.message ?? 'is not valid'}`;
}
