/* The first lines of the two reports. */
#ifndef REPORT_HEADERS_H
#define REPORT_HEADERS_H

#define HOST_HEADER                                                                             \
  "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild," \
  "RangeId,ParentId,RangeStack,NameTree"
#define GPU_HEADER                                                                              \
  "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style," \
  "PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack"

#endif
