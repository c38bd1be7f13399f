/** The thread that checks schemas, one after the other. */
import { answerJobs } from '../basics/job-thread-program.ts';
import { problemsOf, schemaProblem, toolProblem } from './output-schema.ts';
import type { SchemaQuestion } from './schema-thread.ts';

answerJobs((question: SchemaQuestion): string | undefined => {
  switch (question.ask) {
    case 'schema':
      return schemaProblem(question.schema);
    case 'tools':
      return toolProblem(question.tools);
    case 'value':
      return problemsOf(question.schema, question.value);
  }
});
