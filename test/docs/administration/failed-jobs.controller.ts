import { Body, Controller, Delete, Get, NotFoundException, Param, Post, Query } from '@nestjs/common';
import { PgQueueAdmin } from 'nestjs-pgqueue';

// Put a guard of your application before it.
@Controller('failed-jobs')
export class FailedJobsController {
  constructor(private readonly admin: PgQueueAdmin) {}

  @Get()
  list(@Query('after') after?: string) {
    return this.admin.jobs({ status: 'failed', after, limit: 50 }); // the next page is after the last id of this one
  }

  @Get(':id')
  async show(@Param('id') id: string) {
    const job = await this.admin.job(id);
    if (job === undefined) throw new NotFoundException(`Nobody knows job ${id}`);
    return job;
  }

  @Post('requeue')
  requeue(@Body() { ids }: { ids: string[] }) {
    return this.admin.requeue(ids);
  }

  @Delete()
  remove(@Body() { ids }: { ids: string[] }) {
    return this.admin.remove(ids);
  }
}
