import { describeContainerContract } from './testing/describe-container-contract.ts';

describeContainerContract('container', 'small');
