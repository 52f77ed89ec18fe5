import {
  Body,
  Controller,
  Get,
  HttpStatus,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  Res,
} from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Entrypoint,
  type Job,
  PgQueueCompletion,
  type PgQueueError,
  PgQueueModule,
  PgQueueProducer,
} from 'nestjs-pgqueue';

@Injectable()
export class ReportJobs {
  @Entrypoint('make_report')
  make({ payload }: Job<{ year: number }>) {
    return { title: `Report of ${payload.year}` };
  }
}

/** What Express and Fastify have in common. */
interface Answer {
  status(code: number): unknown;
}

@Controller('reports')
export class Reports {
  constructor(
    private readonly queue: PgQueueProducer,
    private readonly completion: PgQueueCompletion,
  ) {}

  @Post()
  async order(@Body() { year }: { year: number }, @Res({ passthrough: true }) answer: Answer) {
    const { id } = await this.queue.enqueue('make_report', { year });
    return this.report(id, answer);
  }

  @Get(':id')
  async report(@Param('id') id: string, @Res({ passthrough: true }) answer: Answer) {
    try {
      return { id, ...(await this.completion.waitFor(id, { timeout: 2_000 })) };
    } catch (error) {
      const { code } = error as PgQueueError;
      if (code === 'PGQUEUE_UNKNOWN_JOB') throw new NotFoundException();
      if (code !== 'PGQUEUE_WAIT_TIMEOUT') throw error;
      answer.status(HttpStatus.ACCEPTED);
      return { id };
    }
  }
}

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      useFactory: () => ({ type: 'postgres', url: process.env['DATABASE_URL'] ?? 'postgresql://localhost/shop' }),
    }),
    PgQueueModule.forRoot(),
  ],
  controllers: [Reports],
  providers: [ReportJobs],
})
export class ReportsModule {}
