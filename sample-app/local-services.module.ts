import { Global, Inject, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import type { LocalServices } from './local-services.js';

const LOCAL_SERVICES = Symbol('LocalServices');

/**
 * The root of an application that ends its local services with itself. Nest shuts global modules down last, and a global
 * root at the very end: TypeORM has closed its connections by then to the server that stops here.
 */
@Global()
@Module({})
export class LocalServicesModule implements OnApplicationShutdown {
  constructor(@Inject(LOCAL_SERVICES) private readonly services: LocalServices) {}

  static around(app: DynamicModule, services: LocalServices): DynamicModule {
    return {
      module: LocalServicesModule,
      imports: [app],
      providers: [{ provide: LOCAL_SERVICES, useValue: services }],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.services.stop();
  }
}
